"""The recorder of a failed worker of a distributed job, and the formats of its records.

Standard library only, Python 3.8 or later, and nothing of the rest of the product: one folder to
copy into an image, or to mount. The controller reads the formats with the same code.
"""
