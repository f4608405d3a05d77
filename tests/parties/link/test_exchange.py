"""The committed module of the wire schema."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from parties.link import exchange_pb2
from tests.support.places import ROOT

SCHEMA = "parties/link/exchange.proto"  # as generated: the folder proto stands in for parties/link


def test_committed_module_is_generated_from_the_schema(tmp_path, monkeypatch):
    protoc = pytest.importorskip("grpc_tools.protoc", reason="grpcio-tools is not installed")
    monkeypatch.chdir(ROOT)
    out = tmp_path / "exchange.pb"
    assert protoc.main(["protoc", "-Iparties/link=proto", f"--descriptor_set_out={out}", SCHEMA]) == 0
    fresh = FileDescriptorSet.FromString(out.read_bytes()).file[0]
    for message in fresh.message_type:
        for field in message.field:
            field.ClearField("json_name")  # protoc adds it to a descriptor set only
    assert [message.name for message in fresh.message_type] == ["Frame", "Hello"]
    assert fresh == FileDescriptorProto.FromString(exchange_pb2.DESCRIPTOR.serialized_pb)
