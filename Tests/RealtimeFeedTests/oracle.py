"""Compares what RealtimeFeed reads and prints with what gtfs-realtime-bindings reads.

  oracle.py compare FOLDER        each NAME.pb in FOLDER against our NAME.json; prints the first difference
  oracle.py to-pb IN.json OUT.pb  a feed in JSON (either naming) as protobuf
  oracle.py encode-time COUNT     seconds that building and serialising COUNT vehicles takes
"""
import json
import pathlib
import sys
import time

from google.protobuf import json_format
from google.transit import gtfs_realtime_pb2

EVENT = {"delay": 0, "time": 0, "uncertainty": 0}
TRIP = dict.fromkeys(
    ["tripId", "routeId", "directionId", "startTime", "startDate", "scheduleRelationship"], 0)
VEHICLE = dict.fromkeys(["id", "label", "licensePlate"], 0)
# The fields that RealtimeFeed reads; everything else is pruned from what the bindings say.
FIELDS = {
    "header": dict.fromkeys(["gtfsRealtimeVersion", "incrementality", "timestamp"], 0),
    "entity": {
        "id": 0,
        "isDeleted": 0,
        "tripUpdate": {
            "trip": TRIP,
            "vehicle": VEHICLE,
            "timestamp": 0,
            "delay": 0,
            "stopTimeUpdate": {
                "stopSequence": 0, "stopId": 0, "arrival": EVENT, "departure": EVENT,
                "scheduleRelationship": 0,
            },
        },
        "vehicle": {
            "trip": TRIP,
            "vehicle": VEHICLE,
            "position": dict.fromkeys(["latitude", "longitude", "bearing", "odometer", "speed"], 0),
            "currentStopSequence": 0, "stopId": 0, "currentStatus": 0, "timestamp": 0,
            "congestionLevel": 0, "occupancyStatus": 0, "occupancyPercentage": 0,
        },
    },
}


def prune(value, fields):
    if isinstance(value, list):
        return [prune(element, fields) for element in value]
    if isinstance(fields, dict):
        return {name: prune(value[name], fields[name]) for name in fields if name in value}
    return value


def difference(theirs, ours, path="feed"):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted(theirs.keys() | ours.keys()):
            if name not in theirs or name not in ours:
                return f"{path}.{name}: theirs {theirs.get(name)!r}, ours {ours.get(name)!r}"
            found = difference(theirs[name], ours[name], f"{path}.{name}")
            if found:
                return found
        return None
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, pair in enumerate(zip(theirs, ours)):
            found = difference(*pair, f"{path}[{index}]")
            if found:
                return found
        return None
    if theirs != ours or isinstance(theirs, str) != isinstance(ours, str):
        return f"{path}: theirs {theirs!r}, ours {ours!r}"
    return None


def compare(folder):
    compared = 0
    for capture in sorted(pathlib.Path(folder).glob("*.pb")):
        feed = gtfs_realtime_pb2.FeedMessage.FromString(capture.read_bytes())
        theirs = prune(json_format.MessageToDict(feed), FIELDS)
        ours = json.loads(capture.with_suffix(".json").read_bytes())
        found = difference(theirs, ours)
        if found:
            sys.exit(f"{capture.name}: {found}")
        compared += 1
    print(f"compared {compared}")


def texts(count):
    return [(f"vehicle-{index}", f"trip-{index}", f"route-{index % 200}", f"stop-{index % 5000}")
            for index in range(count)]


def build(names):
    feed = gtfs_realtime_pb2.FeedMessage()
    feed.header.gtfs_realtime_version = "2.0"
    feed.header.incrementality = gtfs_realtime_pb2.FeedHeader.FULL_DATASET
    feed.header.timestamp = 1_771_257_600
    for index, (vehicle_id, trip_id, route_id, stop_id) in enumerate(names):
        entity = feed.entity.add()
        entity.id = vehicle_id
        vehicle = entity.vehicle
        vehicle.trip.trip_id = trip_id
        vehicle.trip.route_id = route_id
        vehicle.trip.start_date = "20260216"
        vehicle.vehicle.id = vehicle_id
        vehicle.vehicle.label = "Rider-reported"
        vehicle.position.latitude = 47.6 + index * 1e-5
        vehicle.position.longitude = -122.3 - index * 1e-5
        vehicle.position.bearing = index % 360
        vehicle.position.speed = 8.5
        vehicle.current_stop_sequence = index % 60
        vehicle.stop_id = stop_id
        vehicle.current_status = gtfs_realtime_pb2.VehiclePosition.IN_TRANSIT_TO
        vehicle.timestamp = 1_771_257_590
    return feed


def encode_time(count):
    names = texts(count)
    build(names[:100]).SerializeToString()
    start = time.process_time()
    size = len(build(names).SerializeToString())
    print(f"{time.process_time() - start:.9f} {size}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["compare", folder]:
            compare(folder)
        case ["to-pb", source, target]:
            feed = json_format.Parse(
                pathlib.Path(source).read_text(), gtfs_realtime_pb2.FeedMessage(),
                ignore_unknown_fields=True)
            pathlib.Path(target).write_bytes(feed.SerializeToString())
        case ["encode-time", count]:
            encode_time(int(count))
        case _:
            sys.exit(__doc__)
