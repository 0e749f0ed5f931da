"""Runs inside the build of an image and collects its files for ../../Dockerfile.*."""
