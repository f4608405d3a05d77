"""Deployment of models: as SQL, PMML or ONNX for other programs, or served over HTTP on this machine."""
