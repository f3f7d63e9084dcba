"""The image, the manifests, and the proof that the image is what it says."""
