"""The body of scripts/fuzz-api: starts `alongside up`, fills it with people and things, and lets Schemathesis ask."""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid

import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "30"))
DOCUMENT = "docs/reference/openapi.yaml"
# Whoever asks these is gone afterwards, so they come last.
LAST = ["leave", "unfriend", "unassign", "deleteUser", "deactivateVehicle", "endTrip", "endRide", "changePassword", "logOut",
        "logOutEverywhere", "endSession", "eraseRider", "eraseMe"]
# Endless answers; the stream has tests of its own, the socket, too.
SKIPPED = {"stream", "live"}
REACHED = 0.9


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Product:
    """`alongside up` on a port and a folder of its own, with limits that a fuzzer does not meet."""

    def __init__(self, programs):
        self.folder = tempfile.mkdtemp(prefix="alongside-fuzz-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.schedule = self.folder + "/schedule.zip"
        alongside = os.path.abspath(programs) + "/alongside"
        subprocess.run([alongside, "schedule", "rebase", "deploy/demo/raba.gtfs.zip", self.schedule, "--today"], check=True,
                       stdout=subprocess.DEVNULL)
        many = {name: "1000000" for name in ["RIDER_REGISTRATION_LIMIT", "LOGIN_ADDRESS_LIMIT", "LOGIN_IDENTITY_LIMIT", "SIGNUP_LIMIT"]}
        environment = {**os.environ, **many, "PORT": str(self.port), "ALONGSIDE_DATA": self.folder + "/data",
                       "GTFS_STATIC_URL": self.schedule, "ALONGSIDE_HOME": os.getcwd(), "RIDER_WITNESS_CHECKS": "off",
                       "PASSWORD_HASH_MEMORY_KIB": "7168", "PASSWORD_HASH_PASSES": "1"}
        self.log = open(self.folder + "/up.log", "w+")
        self.process = subprocess.Popen([alongside, "up"], env=environment, stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL)
        for _ in range(600):
            if self.process.poll() is not None:
                break
            if self.call("GET", "/ready")[0] == 200:
                return
            time.sleep(0.2)
        self.log.seek(0)
        sys.exit("fuzz-api: the product does not start: " + self.log.read())

    def call(self, method, path, body=None, token=None):
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = "Bearer " + token
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")
        except OSError:
            return 0, None

    def must(self, *arguments):
        for _ in range(60):
            status, body = self.call(*arguments)
            if status != 429:
                break
            time.sleep(1)
        if not 200 <= status < 300:
            sys.exit(f"fuzz-api: {arguments[:2]}: {status} {body}")
        return body

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        subprocess.run(["rm", "-rf", self.folder])


class World:
    """People and things that calls can be about; `tokens` has one of each role, `known` what fields may hold."""

    def __init__(self, product):
        self.product = product
        password = open(product.folder + "/data/keys/admin-password").read().strip()
        admin = product.must("POST", "/api/v1/auth/login", {"email": "admin@localhost", "password": password})
        self.tokens = {"admin": admin["access_token"]}
        self.trips = self.running_trips()
        self.known = {"password": "correct horse", "current": "correct horse", "new": "correct horse", "name": "Home"}
        self.renew("driver")
        self.renew("member")
        self.renew("rider")

    def running_trips(self):
        token = self.tokens["admin"]
        trips = []
        for route in self.product.must("GET", "/api/v1/gtfs/routes", None, token)["routes"][:3]:
            self_route = route["id"]
            found = self.product.must("GET", f"/api/v1/gtfs/routes/{self_route}/trips", None, token)["trips"]
            trips += [(self_route, trip["id"]) for trip in found]
        return trips

    def renew(self, role):
        """Makes somebody new of a role, who has what the role's calls are about."""
        getattr(self, "new_" + role)()

    def new_driver(self):
        call, admin = self.product.must, self.tokens["admin"]
        email = f"d{uuid.uuid4().hex[:12]}@example.org"
        user = call("POST", "/api/v1/admin/users", {"name": "Dora", "email": email, "password": "correct horse", "role": "driver"}, admin)
        vehicle = "bus-" + uuid.uuid4().hex[:8]
        call("POST", "/api/v1/admin/vehicles", {"id": vehicle, "label": "Bus"}, admin)
        call("POST", "/api/v1/admin/assignments", {"user_id": user["id"], "vehicle_id": vehicle}, admin)
        token = call("POST", "/api/v1/auth/login", {"email": email, "password": "correct horse"})["access_token"]
        trip = call("POST", "/api/v1/trips/start", {"vehicle_id": vehicle}, token)
        key = call("POST", "/api/v1/admin/api-keys", {"name": "reader"}, admin)
        self.tokens["driver"] = token
        self.known |= {"user_id": user["id"], "userID": user["id"], "vehicle_id": vehicle, "vehicleID": vehicle,
                       ("/users/", "id"): user["id"], ("/vehicles/", "id"): vehicle, ("/trips", "id"): trip["id"],
                       ("/trips/end", "trip_id"): trip["id"], ("/api-keys/", "id"): key["id"], ("/auth/", "email"): email}

    def new_member(self):
        call = self.product.must
        people = []
        for _ in range(3):
            handle = "m" + uuid.uuid4().hex[:12]
            people.append(call("POST", "/api/v1/auth/register", {"handle": handle, "password": "correct horse"}) | {"handle": handle})
        (me, friend, asker) = people
        token, other = me["access_token"], friend["access_token"]
        call("POST", "/api/friends/requests", {"username": friend["handle"]}, token)
        call("POST", f"/api/friends/requests/{me['account_id']}/respond", {"accept": True}, other)
        call("POST", "/api/friends/requests", {"username": me["handle"]}, asker["access_token"])
        circle = call("POST", "/api/circles", {"name": "Home"}, token)["id"]
        call("PUT", f"/api/circles/{circle}/sharing", {"sharing": True}, token)
        invited = call("POST", "/api/circles", {"name": "Work"}, other)["id"]
        call("POST", f"/api/groups/{invited}/invitations", {"username": me["handle"]}, other)
        place = call("POST", f"/api/circles/{circle}/places", {"place": {"id": 7, "radiusMeters": 50}}, token)["id"]
        self.tokens["member"] = token
        self.known |= {"username": friend["handle"], "placeId": place, "kind": "arrive", "refresh_token": me["refresh_token"],
                       ("/circles/", "id"): circle, ("/groups/", "id"): circle, ("/circle-places/", "id"): place,
                       ("/invitations/respond", "id"): invited, ("/friends/", "id"): friend["account_id"],
                       ("/friends/requests/", "id"): asker["account_id"]}

    def new_rider(self):
        call = self.product.must
        rider = call("POST", "/api/v1/rider/register", {"installation_id": str(uuid.uuid4()), "platform": "other"})
        route, trip = random.choice(self.trips)
        ride = call("POST", "/api/v1/rider/rides", {"trip_id": trip}, rider["token"])["ride_id"]
        self.tokens["rider"] = rider["token"]
        self.known |= {"trip_id": trip, "gtfs_trip_id": trip, "route_id": route, ("/rides/", "id"): ride}

    def prepare(self, operation, role):
        """What a call needs that an earlier call of its kind has used up."""
        call, admin = self.product.must, self.tokens["admin"]
        if operation == "refresh":
            email, password = self.known["/auth/", "email"], "correct horse"
            self.known["refresh_token"] = call("POST", "/api/v1/auth/login", {"email": email, "password": password})["refresh_token"]
        elif operation == "assign":
            vehicle = "bus-" + uuid.uuid4().hex[:8]
            call("POST", "/api/v1/admin/vehicles", {"id": vehicle}, admin)
            self.known["/assignments", "vehicle_id"] = vehicle
        elif operation == "startTrip" and role == "driver":
            self.renew("driver")
            call("POST", "/api/v1/trips/end", {"trip_id": self.known["/trips/end", "trip_id"]}, self.tokens["driver"])
        elif operation in ("createUser", "changeUser"):
            self.known["/admin/users", "email"] = f"u{uuid.uuid4().hex[:12]}@example.org"
        elif operation in LAST and role in ("driver", "member", "rider"):
            self.renew(role)
        elif operation in ("unassign", "deleteUser", "deactivateVehicle"):
            self.renew("driver")

    def value(self, path, name):
        """What a field of a call to a path may hold, from the longest part of a path that knows it."""
        for part in sorted((key[0] for key in self.known if isinstance(key, tuple) and key[1] == name), key=len, reverse=True):
            if part in path:
                return self.known[part, name]
        if name == "timestamp":
            return int(time.time())
        return self.known.get(name)


def steer(case, world, path, chance):
    """Puts known values into a part of the cases, so that calls are about something that is there."""
    if chance.random() < 0.3:
        return
    for name in list(case.path_parameters or {}):
        value = world.value(path, name)
        if value is not None:
            case.path_parameters[name] = value
    bodies = [case.body]
    while bodies:
        body = bodies.pop()
        if isinstance(body, list):
            bodies += body
        elif isinstance(body, dict):
            if path.endswith(("/login", "/session")):
                body.pop("handle", None)
            for name in body:
                # What a body calls `id` is the caller's own number.
                value = None if name == "id" else world.value(path, name)
                if value is not None and not isinstance(body[name], (dict, list)):
                    body[name] = value
                else:
                    bodies.append(body[name])
            if path.endswith(("/rides", "/locations", "/batch")):
                for name in ("start_date", "route_id"):
                    body.pop(name, None)
    for name in ("start_date", "date", "status", "vehicle_id", "from", "to"):
        if case.query and chance.random() < 0.7:
            case.query.pop(name, None)


class Fuzz:
    """What was asked and what came back: `reached` counts answers by operation and status."""

    def __init__(self, world, checks):
        self.world, self.checks = world, checks
        self.reached, self.faults, self.calls = {}, [], 0
        self.chance = random.Random(1)

    def ask(self, operation, strategy, role, steers):
        name = operation.definition.raw["operationId"]
        examples = EXAMPLES if steers else EXAMPLES // 2

        @seed(1)
        @settings(max_examples=max(3, examples // 10) if name in LAST else examples, deadline=None, database=None,
                  phases=[Phase.generate], suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet)
        @given(case=strategy)
        def one(case):
            self.world.prepare(name, role)
            if steers:
                steer(case, self.world, operation.path, self.chance)
            self.send(case, name, role, operation.definition.raw["tags"])

        one()

    def send(self, case, name, role, tags):
        if tags == ["groups"]:
            # One address may send fifteen in a second for long.
            time.sleep(0.07)
        headers = {"Authorization": "Bearer " + self.world.tokens[role]} if role else {}
        response = case.call(headers=headers, timeout=30)
        self.calls += 1
        if response.status_code == 429 and role in ("driver", "rider"):
            self.world.renew(role)
        seen = self.reached.setdefault(name, {})
        seen[response.status_code] = seen.get(response.status_code, 0) + 1
        try:
            case.validate_response(response, checks=self.checks, headers=headers)
        except Exception as fault:  # findings come as groups of many kinds
            self.faults.append(f"{name} as {role}: {response.status_code} {str(fault)[:600]}")


def main():
    load_all_checks()
    checks = [CHECKS.get_one(name) for name in
              ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")]
    product = Product(sys.argv[1])
    try:
        world = World(product)
        schema = schemathesis.openapi.from_path(DOCUMENT)
        schema.config.base_url = product.url
        operations = [result.ok() for result in schema.get_all_operations()]
        operations = [o for o in operations if o.definition.raw["operationId"] not in SKIPPED]
        operations.sort(key=lambda o: LAST.index(o.definition.raw["operationId"]) if o.definition.raw["operationId"] in LAST else -1)
        fuzz = Fuzz(world, checks)
        reached, faults = fuzz.reached, fuzz.faults
        for operation in operations:
            raw = operation.definition.raw
            name = raw["operationId"]
            for role in raw["x-roles"] or [None]:
                if role == "admin" and name in LAST[LAST.index("changePassword"):]:
                    # The one admin is needed to the end.
                    continue
                if role and role != "admin":
                    world.renew(role)
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                    try:
                        strategy = operation.as_strategy(generation_mode=mode)
                        fuzz.ask(operation, strategy, role, steers=mode == GenerationMode.POSITIVE)
                    except Unsatisfiable:
                        # An operation without anything that could be wrong.
                        assert mode == GenerationMode.NEGATIVE, name
        ok = [name for name, seen in reached.items() if any(200 <= status < 300 for status in seen)]
        for name, seen in sorted(reached.items()):
            print(f"{name:24} {' '.join(f'{status}x{count}' for status, count in sorted(seen.items()))}{'' if name in ok else '   never a success'}")
        for fault in sorted(set(faults))[:40]:
            print("FAULT", fault)
        print(f"{fuzz.calls} calls, {len(ok)} of {len(reached)} operations reached, {len(faults)} faults")
        return 1 if faults or len(ok) < REACHED * len(reached) else 0
    finally:
        product.stop()


if __name__ == "__main__":
    sys.exit(main())
