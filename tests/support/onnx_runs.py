"""ONNX models run by onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime


def run(model: onnx.ModelProto, cells: np.ndarray) -> list[str]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (labels,) = session.run(["label"], {"X": cells})
    return labels.tolist()
