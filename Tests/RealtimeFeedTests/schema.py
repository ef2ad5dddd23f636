"""Compares a compiled gtfs-realtime.proto, field by field, with the pinned gtfs-realtime-bindings.

  schema.py DESCRIPTOR   DESCRIPTOR as `protoc --descriptor_set_out` writes it
"""
import pathlib
import sys

from google.protobuf import descriptor_pb2
from google.transit import gtfs_realtime_pb2


def facts(messages, enums, prefix=""):
    for enum in enums:
        for value in enum.value:
            yield f"{prefix}{enum.name}.{value.name} = {value.number}"
    for message in messages:
        name = f"{prefix}{message.name}."
        for field in message.field:
            yield (f"{name}{field.name} = {field.number} label {field.label} type {field.type} "
                   f"{field.type_name} default {field.default_value}")
        yield from facts(message.nested_type, message.enum_type, name)


ours = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(sys.argv[1]).read_bytes()).file[0]
theirs = descriptor_pb2.FileDescriptorProto()
gtfs_realtime_pb2.DESCRIPTOR.CopyToProto(theirs)
different = set(facts(ours.message_type, ours.enum_type)) ^ set(
    facts(theirs.message_type, theirs.enum_type))
if different:
    sys.exit("\n".join(sorted(different)))
print("same schema")
