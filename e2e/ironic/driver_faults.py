"""An Ironic plugin: delays and failures in the `fake` driver, node by node, while Ironic runs.

Ironic loads it as the hardware type `driver-faults`, by the entry point in the dist-info folder
beside it; nothing of Ironic is changed on disk. $IRONWARD_FAULTS names the file for `faults.py`.
A fault has `call`, "<interface>.<method>", and `error` to fail with, or null to be only slow.
"""

import functools
import hashlib
import os
import time
import types

from ironic.common import exception, states
from ironic.drivers import fake_hardware
from ironic.drivers.modules import fake
from ironic.drivers.modules.redfish import utils as redfish_utils
from oslo_log import log

from faults import Faults

LOG = log.getLogger(__name__)

FAULTS = Faults(os.environ["IRONWARD_FAULTS"], "driver")

CALLS = (
    (fake.FakePower, "power", ("validate", "get_power_state", "set_power_state", "reboot")),
    (fake.FakeDeploy, "deploy", ("validate", "prepare", "deploy", "tear_down", "clean_up")),
    (fake.FakeInspect, "inspect", ("validate", "inspect_hardware")),
    (fake.FakeManagement, "management", ("validate", "set_boot_device")),
    # The one automated clean step that fake hardware has.
    (fake.FakeVendorB, "vendor", ("log_passthrough",)),
)


class DriverFaultsHardware(fake_hardware.FakeHardware):
    """Fake hardware under another name: enabling it is what loads this module."""


def interpose(interface, interface_name, method_name):
    """Lets the faults of a call come before the call."""
    original = getattr(interface, method_name)
    call = f"{interface_name}.{method_name}"

    @functools.wraps(original)
    def faulty(self, task, *args, **kwargs):
        node = task.node
        fault = FAULTS.find((node.uuid, node.name), lambda fault: fault["call"] == call)
        if fault:
            LOG.info("Injected into %s of node %s: %s", call, node.uuid, fault)
            time.sleep(fault["delay"])
            if fault["error"] is not None:
                raise exception.IronicException(fault["error"])
        return original(self, task, *args, **kwargs)

    setattr(interface, method_name, faulty)


def start_powered_off():
    """Stock fake power answers None until somebody has set it once. A BMC never does."""
    original = fake.FakePower.get_power_state

    @functools.wraps(original)
    def known(self, task):
        return original(self, task) or states.POWER_OFF

    fake.FakePower.get_power_state = known


def remember_session_keys():
    """Ironic finds a Redfish session by a key that takes 600,000 rounds of PBKDF2, at every call.

    That is more than a second of CPU time each. The results are the same, only remembered.
    """
    redfish_utils.hashlib = types.SimpleNamespace(
        pbkdf2_hmac=functools.lru_cache(maxsize=10_000)(hashlib.pbkdf2_hmac)
    )


start_powered_off()
remember_session_keys()
for _interface, _name, _methods in CALLS:
    for _method in _methods:
        interpose(_interface, _name, _method)
