"""Runs inside the build of an image: collects what the image is made of. See ../../Dockerfile.*."""
