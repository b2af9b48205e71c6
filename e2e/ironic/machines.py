"""A rack of make-believe machines on one port of the loopback address.

/redfish/v1/...          their BMCs
/agent/<machine>/v1/...  the ramdisks that run on them
/images/...              what they can boot from and be written with
/machines                which rack this is
/machines/<machine>      what its ramdisks did so far, and when it was on and off
"""

import argparse
import json
import logging

import flask

import bmc
import ramdisk
from faults import Faults

HOST = "127.0.0.1"


def add_pages(app, ramdisks, systems, images, state):
    """The pages beside those of the BMCs."""

    @app.route("/agent/<machine>/v1/commands/", methods=["GET", "POST"])
    def commands(machine):
        running = ramdisks.running(machine)
        if not running:
            return {"faultstring": "no ramdisk runs on this machine"}, 404
        if flask.request.method == "GET":
            return {"commands": running.commands}
        command = flask.request.get_json()
        return running.execute(command["name"], command.get("params") or {})

    @app.get("/images/<path:name>")
    def image(name):
        return flask.send_from_directory(images, name)

    @app.get("/machines")
    def rack():
        return {"state": state}

    @app.get("/machines/<machine>")
    def past(machine):
        return {**ramdisks.past(machine), "powers": systems.powers(machine)}


def main():
    """Serves until it is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--machines", required=True, help="JSON file that describes them")
    parser.add_argument("--faults", required=True, help="JSON file of faults.py")
    parser.add_argument("--images", required=True, help="folder")
    parser.add_argument("--state", required=True, help="folder")
    parser.add_argument("--power-delay", type=float, default=0, help="seconds")
    parser.add_argument("--ironic", help="URL; without it machines boot no ramdisk")
    parser.add_argument("--ironic-ca", help="file")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with open(options.machines, encoding="utf-8") as file:
        machines = json.load(file)
    ramdisks = ramdisk.Ramdisks(
        f"http://{HOST}:{options.port}",
        ramdisk.IronicApi(options.ironic, options.ironic_ca),
        Faults(options.faults, "ramdisk"),
    )
    changed = ramdisks.follow if options.ironic else lambda machine: None
    systems = bmc.Machines(machines, options.power_delay, changed)
    ramdisks.power_off = lambda machine: systems.set_power_state(machine, "ForceOff")
    bmc.install(machines, systems, Faults(options.faults, "bmc"), options.state)
    add_pages(bmc.app, ramdisks, systems, options.images, options.state)
    bmc.app.run(host=HOST, port=options.port, threaded=True)


if __name__ == "__main__":
    main()
