"""Decision trees as results: the model and tree.json, predictions, text, pictures, arrays, ONNX."""
