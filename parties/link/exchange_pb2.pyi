from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    DATA: _ClassVar[Kind]
    HELLO: _ClassVar[Kind]
    ABORT: _ClassVar[Kind]
    GOODBYE: _ClassVar[Kind]
KIND_UNSPECIFIED: Kind
DATA: Kind
HELLO: Kind
ABORT: Kind
GOODBYE: Kind

class Frame(_message.Message):
    __slots__ = ("sequence", "kind", "step", "payload", "more")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    kind: Kind
    step: str
    payload: bytes
    more: bool
    def __init__(self, sequence: _Optional[int] = ..., kind: _Optional[_Union[Kind, str]] = ..., step: _Optional[str] = ..., payload: _Optional[bytes] = ..., more: _Optional[bool] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("wire_version", "party", "job", "nonce", "measure", "pace", "data_connection")
    WIRE_VERSION_FIELD_NUMBER: _ClassVar[int]
    PARTY_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    PACE_FIELD_NUMBER: _ClassVar[int]
    DATA_CONNECTION_FIELD_NUMBER: _ClassVar[int]
    wire_version: int
    party: int
    job: str
    nonce: bytes
    measure: bool
    pace: int
    data_connection: bool
    def __init__(self, wire_version: _Optional[int] = ..., party: _Optional[int] = ..., job: _Optional[str] = ..., nonce: _Optional[bytes] = ..., measure: _Optional[bool] = ..., pace: _Optional[int] = ..., data_connection: _Optional[bool] = ...) -> None: ...
