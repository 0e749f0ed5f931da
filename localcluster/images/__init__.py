"""Builds the product's images, without Docker and without pulling anything where that must be.

    images = await ensure_images(reporter)        the webhook and the controller
    image = await workload_image(reporter)        what wrapped pods run in tests
    image = await torch_image(reporter)           the same with PyTorch

They build only what is not there yet, and raise LocalClusterError.
"""

from localcluster.images.ensure import ensure_images, torch_image, workload_image
from localcluster.images.image import Image, Images

__all__ = ["Image", "Images", "ensure_images", "torch_image", "workload_image"]
