"""Models where they are used: as SQL, PMML or ONNX in other programs, or asked over HTTP on this machine."""
