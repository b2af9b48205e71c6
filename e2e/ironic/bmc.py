"""The BMCs: sushy-tools' Redfish emulator, with the gaps filled that Ironic falls into.

Stock, a power change takes a random 1 to 11 seconds and somebody to look, and an inspection finds
no processors. Here power takes the time it is told to, and a BMC wants its machine's password.

A fault has `method` and `path` (a part of it) of the requests it meets, null and "" for all, and
what it does to them: `status` to answer with, or `hang_up` to cut the connection.
"""

import socket
import threading
import time

import flask
from sushy_tools import error
from sushy_tools.emulator import main as emulator
from sushy_tools.emulator.resources.systems import fakedriver

POWER_AFTER = {
    "On": "On",
    "ForceOn": "On",
    "ForceOff": "Off",
    "GracefulShutdown": "Off",
    "ForceRestart": "On",
    "GracefulRestart": "On",
}
WITHOUT_PASSWORD = ("/redfish", "/redfish/v1")

app = emulator.app


class Machines(fakedriver.FakeDriver):
    """All machines, as the emulator's pages see them. `changed(machine)` hears of every change."""

    def __init__(self, machines, power_delay, changed):
        # Not the driver's own: that keeps them in a database, which loses changes made at once.
        self._systems = {machine["uuid"]: {**machine, "power_state": "Off"} for machine in machines}
        self._by_name = {machine["name"]: machine["uuid"] for machine in machines}
        self._power_delay = power_delay
        self._power_timers = {}
        self._powers = {machine["uuid"]: [] for machine in machines}
        self._changed = changed
        # One change after the other, so that they are heard of in the order they were made.
        self._lock = threading.RLock()

    def _update(self, system, **changes):
        with self._lock:
            system = self._get(system) if isinstance(system, str) else system
            power = changes.get("power_state", system["power_state"])
            if power != system["power_state"]:
                self._powers[system["uuid"]].append(power)
            system.update(changes)
            self._changed(system)

    def powers(self, identity):
        """What its power was changed to since it stands in the rack, in order."""
        with self._lock:
            return list(self._powers[identity])

    def set_power_state(self, identity, state):
        if state not in POWER_AFTER:
            raise error.NotSupportedError(f"Power state {state} is not supported")
        with self._lock:
            machine = self._get(identity)
            if identity in self._power_timers:
                self._power_timers.pop(identity).cancel()
            if state.endswith("Restart"):
                self._update(machine, power_state="Off")
            if machine["power_state"] == POWER_AFTER[state]:
                return
            change = {"power_state": POWER_AFTER[state]}
            if not self._power_delay:
                self._update(machine, **change)
                return
            timer = threading.Timer(self._power_delay, self._update, [machine], change)
            timer.daemon = True
            timer.start()
            self._power_timers[identity] = timer

    def get_total_cpus(self, identity):
        return self._get(identity)["cpus"]

    def get_total_memory(self, identity):
        return self._get(identity)["memory_gb"]

    def get_processors(self, identity):
        cores = self._get(identity)["cpus"]
        return [
            {
                "id": "CPU0",
                "socket": "CPU 0",
                "vendor": "Ironward",
                "model": "Make-believe CPU",
                "cores": cores,
                "threads": cores,
            }
        ]

    def get_simple_storage_collection(self, identity):
        disk = {"Name": "sda", "CapacityBytes": self._get(identity)["disk_gb"] * 2**30}
        return {"scsi": {"Id": "scsi", "Name": "scsi", "DeviceList": [disk]}}

    def get_versions(self, identity):
        return {"BiosVersion": "1.0.0"}

    def get_bios(self, identity):
        return self._get(identity).get("bios") or {"BootMode": "Uefi", "ProcTurboMode": "Enabled"}

    def set_bios(self, identity, attributes):
        self._update(identity, bios={**self.get_bios(identity), **attributes})

    def reset_bios(self, identity):
        self._update(identity, bios=None)


def storage_of(machines):
    """The emulator's settings that put one controller with one disk into each machine."""
    controller = {"MemberId": "0", "Name": "controller", "SpeedGbps": 12}
    storage, drives, volumes = {}, {}, {}
    for machine in machines:
        uuid, size = machine["uuid"], machine["disk_gb"] * 2**30
        storage[uuid] = [
            {"Id": "1", "Name": "1", "Drives": ["sda"], "StorageControllers": [controller]}
        ]
        drives[uuid, "1"] = [{"Id": "sda", "Name": "sda", "CapacityBytes": size, "Protocol": "SAS"}]
        volumes[uuid, "1"] = []
    return {
        "SUSHY_EMULATOR_STORAGE": storage,
        "SUSHY_EMULATOR_DRIVES": drives,
        "SUSHY_EMULATOR_VOLUMES": volumes,
    }


def install(machines, systems, faults, state_dir):
    """Puts the machines behind the emulator's pages, and the faults and passwords before them."""
    app.configure(extra_config={"SUSHY_EMULATOR_STATE_DIR": state_dir, **storage_of(machines)})
    emulator.Application.systems = systems

    @app.before_request
    def meet_fault():
        method, path = flask.request.method, flask.request.path
        if not path.startswith("/redfish"):
            return None
        fault = faults.find(
            [machine["uuid"] for machine in machines if machine["uuid"] in path],
            lambda fault: fault["method"] in (None, method) and fault["path"] in path,
        )
        if not fault:
            return None
        time.sleep(fault["delay"])
        if fault["hang_up"]:
            flask.request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            return ""
        return refusal("injected fault", fault["status"]) if fault["status"] else None

    @app.before_request
    def ask_for_password():
        path, given = flask.request.path, flask.request.authorization
        if not path.startswith("/redfish") or path.rstrip("/") in WITHOUT_PASSWORD:
            return None
        meant = [machine for machine in machines if machine["uuid"] in path] or machines
        passwords = {(machine["username"], machine["password"]) for machine in meant}
        if given and (given.username, given.password) in passwords:
            return None
        return refusal("wrong user name or password", 401)


def refusal(message, status):
    """An error as Redfish words it."""
    return flask.make_response(flask.render_template("error.json", message=message), status)
