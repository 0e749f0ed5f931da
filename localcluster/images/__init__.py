"""Builds the product's images, without Docker, and without pulling a base image if need be.

    images = await ensure_images(reporter)        the webhook and the controller
    image = await workload_image(reporter)        the image of wrapped pods in tests
    image = await torch_image(reporter)           the same with PyTorch

They build an image only if it is missing, and raise LocalClusterError.
"""

from localcluster.images.ensure import ensure_images, torch_image, workload_image
from localcluster.images.image import Image, Images

__all__ = ["Image", "Images", "ensure_images", "torch_image", "workload_image"]
