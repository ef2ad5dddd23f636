"""Runs the independent validator over consecutive polls of both feeds.

usage: validate_polls.py SCHEDULE FOLDER

FOLDER holds `vp` and `tu`, each with one message for each poll, whose name ends in the time of the poll as
`2026-02-16T16-00-00Z.pb`: that is the clock that the poll is judged by. Prints one line of JSON:
polls, entities, and what fired by severity and rule.
"""

import json
import pathlib
import sys

from google.transit import gtfs_realtime_pb2
from gtfs_rt_validator import api, runner
from gtfs_rt_validator.rules.registry import severity_for

schedule, folder = sys.argv[1], pathlib.Path(sys.argv[2])
entities = 0
cycles = []
for positions in sorted((folder / "vp").iterdir()):
    updates = folder / "tu" / positions.name
    for path in (positions, updates):
        message = gtfs_realtime_pb2.FeedMessage()
        message.ParseFromString(path.read_bytes())
        entities += len(message.entity)
    cycles.append(
        runner.role_cycle(
            {
                runner.ROLE_TRIP_UPDATES: updates,
                runner.ROLE_VEHICLE_POSITIONS: positions,
            }
        )
    )
result = api.validate(
    api.Request(
        mode=api.Mode.MODERN,
        gtfs=pathlib.Path(schedule),
        inputs=api.Inputs(tuple(cycles), directory_replay=True),
        sort_by=api.SortBy.NAME,
    )
)
notices = result.run.notices
fired = {}
for rule in notices.rule_ids():
    fired.setdefault(severity_for(rule).lower(), {})[rule] = notices.count_for(rule)
samples = [
    f"{rule}: {sample.prefix}" for rule in notices.rule_ids() for sample in notices.samples_for(rule)[:2]
]
print(
    json.dumps(
        {
            "polls": len(cycles),
            "messages": result.run.messages_validated,
            "entities": entities,
            "fired": fired,
            "samples": samples,
        }
    )
)
