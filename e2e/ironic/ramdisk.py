"""The ramdisks: what ironic-python-agent does on a machine that booted it, without the machine.

A machine that is on and boots from the network, or from a virtual CD with the ramdisk in it,
reports its hardware to Ironic, sends heartbeats, and does what it is told: it fetches an image and
compares the checksum, it opens a config drive and reads it.

A fault has `what` it happens to: "boot", "inspection" or the name of a step. That takes `delay`
seconds longer and fails with `error`, unless it is null. A ramdisk that fails to boot is silent.
"""

import base64
import gzip
import hashlib
import http.client
import io
import json
import logging
import os
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pycdlib

LOG = logging.getLogger("ramdisk")

ISO = "ramdisk.iso"
# A real machine takes minutes; this one must only not be faster than Ironic gets ready for it.
BOOT_SECONDS = 1.0
HEARTBEAT_SECONDS = 1.0
STEP_SECONDS = 0.2

# By the interface of Ironic that they belong to, with their priority.
STEPS = {
    "clean": [
        ("deploy", "erase_devices", 0),
        ("deploy", "erase_devices_metadata", 10),
        ("raid", "delete_configuration", 0),
        ("raid", "create_configuration", 0),
    ],
    # The second is one that somebody has built into a ramdisk of his own.
    "deploy": [("deploy", "write_image", 0), ("deploy", "install_my_os", 0)],
    "service": [],
}


class StepFailed(Exception):
    """A step could not be carried out; the message says why."""


class IronicApi:
    """The part of Ironic's API that ramdisks use. It asks for no password."""

    def __init__(self, url, ca_file):
        self._url = url
        self._tls = ssl.create_default_context(cafile=ca_file) if ca_file else None

    def report(self, hardware):
        """Hands in an inventory. Ironic answers 404 unless it waits for one, or discovery is on.

        Returns the status, and the node with a token for it where Ironic gives one: it does so once.
        """
        status, answer = self._call("POST", "/v1/continue_inspection", hardware)
        token = answer.get("config", {}).get("agent_token") if status == 202 else None
        return status, (answer["node"]["uuid"], token) if token else None

    def look_up(self, macs):
        """The node with these addresses and a token for it; None while Ironic has no use for it."""
        addresses = urllib.parse.quote(",".join(macs))
        status, answer = self._call("GET", f"/v1/lookup?addresses={addresses}")
        return (answer["node"]["uuid"], answer["config"]["agent_token"]) if status == 200 else None

    def heartbeat(self, node, token, callback_url):
        """Tells Ironic where it can be reached."""
        beat = {"callback_url": callback_url, "agent_version": "11.0.0", "agent_token": token}
        return self._call("POST", f"/v1/heartbeat/{node}", beat)[0]

    def _call(self, method, path, body=None):
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "X-OpenStack-Ironic-API-Version": "1.89",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._tls) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            # Ironic is down, or went down over this; the next heartbeat may find it up again.
            return 0, str(error)


class Ramdisk(threading.Thread):
    """One boot of one machine."""

    def __init__(self, machine, ironic, faults, callback_url, power_off):
        super().__init__(daemon=True)
        self.commands = []
        self.faults_met = []
        self.halted = threading.Event()
        self._machine = machine
        self._ironic = ironic
        self._faults = faults
        self._callback_url = callback_url
        self._power_off = power_off
        self._node = None
        self._token = None

    def run(self):
        try:
            self._meet_fault("boot")
        except StepFailed:
            return
        reported = False
        pause = BOOT_SECONDS
        while not self.halted.wait(pause):
            # Only a machine that nobody has given work to yet can have been booted for its report.
            if not reported and not self.commands:
                reported = self._report() == 202
            self.beat()
            pause = HEARTBEAT_SECONDS

    def beat(self):
        """A heartbeat, if Ironic knows the machine."""
        if not self._node:
            found = self._ironic.look_up([nic["mac"] for nic in self._machine["nics"]])
            if not found:
                return
            self._node, self._token = found
        status = self._ironic.heartbeat(self._node, self._token, self._callback_url)
        LOG.info("%s: heartbeat, %s", self._machine["name"], status)

    def execute(self, name, params):
        """Carries out one command of Ironic's; a long one goes on after the answer."""
        short = name.rpartition(".")[2]
        command = {
            "id": str(uuid.uuid4()),
            "command_name": short,
            "command_params": params,
            "command_status": "SUCCEEDED",
            "command_error": None,
            "command_result": {"result": f"{short}: ok"},
        }
        match short.split("_"):
            case ["get", kind, "steps"]:
                command["command_result"] = steps_of(kind)
            case ["execute", kind, "step"]:
                command.update(command_status="RUNNING", command_result=None)
                threading.Thread(target=self._step, args=(command, kind), daemon=True).start()
            case ["collect", "system", "logs"]:
                logs = base64.b64encode(b"the logs of a make-believe ramdisk")
                command["command_result"] = {"system_logs": logs.decode()}
            case ["power", "off"]:
                # The answer comes first: a machine that is off does not give one.
                threading.Timer(0.2, self._power_off, [self._machine["uuid"]]).start()
        LOG.info("%s: %s %s", self._machine["name"], short, params.get("step", ""))
        self.commands.append(command)
        return command

    def _step(self, command, kind):
        step = command["command_params"]["step"]
        try:
            self.halted.wait(STEP_SECONDS)
            self._meet_fault(step["step"])
            if step["step"] == "write_image":
                fetch_image(step["args"]["image_info"])
            built = None
            if step["step"] == "create_configuration":
                built = command["command_params"]["node"]["target_raid_config"]
            result = {f"{kind}_result": built, f"{kind}_step": step}
            command.update(command_status="SUCCEEDED", command_result=result)
        except StepFailed as failure:
            why = {"type": "CommandExecutionError", "code": 500, "message": str(failure)}
            command.update(command_status="FAILED", command_error={**why, "details": str(failure)})
        if not self.halted.is_set():
            self.beat()

    def _report(self):
        error = None
        try:
            self._meet_fault("inspection")
        except StepFailed as failure:
            error = str(failure)
        if self.halted.is_set():
            # Switched off while it was slow.
            return None
        status, found = self._ironic.report(
            {
                "inventory": inventory(self._machine),
                "boot_interface": self._machine["nics"][0]["mac"],
                "root_disk": {"name": "/dev/sda", "size": self._machine["disk_gb"] * 2**30},
                "error": error,
            }
        )
        LOG.info("%s: report, %s", self._machine["name"], status)
        if found:
            self._node, self._token = found
        return status

    def _meet_fault(self, what):
        fault = self._faults.find([self._machine["uuid"]], lambda fault: fault["what"] == what)
        if fault:
            self.faults_met.append(what)
            self.halted.wait(fault["delay"])
            if fault["error"] is not None:
                raise StepFailed(fault["error"])


class Ramdisks:
    """The ramdisks of all machines, and what they have done so far."""

    def __init__(self, url, ironic, faults):
        self.power_off = None
        self._url = url
        self._ironic = ironic
        self._faults = faults
        self._boots = {}

    def follow(self, machine):
        """Boots or halts as the machine does."""
        running = self.running(machine["uuid"])
        if machine["power_state"] != "On":
            if running:
                running.halted.set()
        elif not running and boots_ramdisk(machine):
            url = f"{self._url}/agent/{machine['uuid']}"
            ramdisk = Ramdisk(machine, self._ironic, self._faults, url, self.power_off)
            self._boots.setdefault(machine["uuid"], []).append(ramdisk)
            ramdisk.start()

    def running(self, identity):
        """The ramdisk that a machine runs now, or None."""
        boots = self._boots.get(identity)
        return boots[-1] if boots and not boots[-1].halted.is_set() else None

    def past(self, identity):
        """What the ramdisks of a machine did, in order, and what was on its last config drive."""
        boots = self._boots.get(identity, [])
        params = [command["command_params"] for boot in boots for command in boot.commands]
        steps = [step for param in params if (step := param.get("step"))]
        drives = [drive for step in steps if (drive := (step.get("args") or {}).get("configdrive"))]
        return {
            "boots": len(boots),
            "steps": [step["step"] for step in steps],
            "config_drive": read_config_drive(drives[-1]) if drives else None,
            "faults": [what for boot in boots for what in boot.faults_met],
        }


def boots_ramdisk(machine):
    """Whether what a machine boots from holds the ramdisk. The network always does."""
    device = machine.get("boot_device")
    inserted = ((machine.get("boot_image") or {}).get("Cd") or [None])[0]
    return device == "Pxe" or (device == "Cd" and os.path.basename(inserted or "") == ISO)


def steps_of(kind):
    """What the ramdisk says it can do."""
    steps = [
        {
            "step": step,
            "priority": priority,
            "interface": interface,
            "reboot_requested": False,
            "abortable": True,
        }
        for interface, step, priority in STEPS[kind]
    ]
    return {
        f"{kind}_steps": {"GenericHardwareManager": steps},
        "hardware_manager_version": {"generic_hardware_manager": "1.2"},
    }


def fetch_image(image):
    """Reads an image as if to write it to disk, and insists on its checksum."""
    algorithm, expected = image.get("os_hash_algo"), image.get("os_hash_value")
    if not expected:
        expected = image["checksum"]
        algorithm = {32: "md5", 64: "sha256", 128: "sha512"}.get(len(expected))
    digest = hashlib.new(algorithm)
    try:
        with urllib.request.urlopen(image["urls"][0], timeout=30) as response:
            while block := response.read(1 << 16):
                digest.update(block)
    except OSError as error:
        raise StepFailed(f"could not fetch {image['urls'][0]}: {error}") from error
    if digest.hexdigest() != expected:
        raise StepFailed(f"image {image['urls'][0]} failed verification: checksum mismatch")


def read_config_drive(drive):
    """The files of a config drive (an ISO, compressed, in base64), by path."""
    image = pycdlib.PyCdlib()
    image.open_fp(io.BytesIO(gzip.decompress(base64.b64decode(drive))))
    files = {}
    for folder, _, names in image.walk(joliet_path="/"):
        for name in names:
            path, content = f"{folder.rstrip('/')}/{name}", io.BytesIO()
            image.get_file_from_iso_fp(content, joliet_path=path)
            files[path] = content.getvalue().decode(errors="replace")
    image.close()
    return files


def inventory(machine):
    """The hardware of a machine, in the words of ironic-python-agent."""
    serial = machine["uuid"][-12:]
    return {
        "interfaces": [
            {
                "name": f"eth{position}",
                "mac_address": nic["mac"],
                "ipv4_address": nic["ip"],
                "has_carrier": True,
                "lldp": [],
                "vendor": "0x8086",
                "product": "0x1533",
                "speed_mbps": 10000,
                "pci_address": f"0000:01:00.{position}",
            }
            for position, nic in enumerate(machine["nics"])
        ],
        "cpu": {
            "model_name": "Make-believe CPU",
            "frequency": "2100.0000",
            "count": machine["cpus"],
            "architecture": "x86_64",
            "flags": ["aes", "vmx"],
            "socket_count": 1,
        },
        "disks": [
            {
                "name": "/dev/sda",
                "model": "Make-believe disk",
                "size": machine["disk_gb"] * 2**30,
                "rotational": False,
                "serial": f"DISK{serial}",
                "wwn": f"0x5000{serial}",
                "vendor": "Ironward",
                "hctl": "0:0:0:0",
                "by_path": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
            }
        ],
        "memory": {
            "total": machine["memory_gb"] * 2**30,
            "physical_mb": machine["memory_gb"] * 2**10,
        },
        "bmc_address": None,
        "bmc_v6address": None,
        "system_vendor": {
            "product_name": "Make-believe server",
            "serial_number": f"SN{serial}",
            "manufacturer": "Ironward",
            "firmware": {"vendor": "Ironward", "version": "1.0.0", "build_date": "01/01/2026"},
        },
        "boot": {"current_boot_mode": "uefi", "pxe_interface": machine["nics"][0]["mac"]},
        "hostname": machine["name"],
    }
