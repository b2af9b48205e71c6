"""The faults that hold now: a JSON list that a test rewrites while everything runs.

Every fault has these keys, and those of its place beside them:

  id      tells it from the others, also across rewrites
  at      where it happens: "driver", "bmc" or "ramdisk"
  of      the node (driver) or machine (bmc, ramdisk) it happens to; null for all
  after   how many times to let it pass first
  times   how many times it happens; null for always
  delay   seconds by which it holds things up
"""

import collections
import json
import threading


class Faults:
    """The faults of one place."""

    def __init__(self, path, place):
        self._path = path
        self._place = place
        self._met = collections.Counter()
        self._lock = threading.Lock()

    def find(self, subjects, applies):
        """The first fault of one of the `subjects` that `applies` and whose turn it is, or None."""
        with self._lock:
            for fault in self._now():
                if fault["of"] not in (None, *subjects) or not applies(fault):
                    continue
                self._met[fault["id"]] += 1
                turn = self._met[fault["id"]] - fault["after"]
                if turn >= 1 and (fault["times"] is None or turn <= fault["times"]):
                    return fault
        return None

    def _now(self):
        # The file is small, and replaced in one piece: read anew each time, nothing is ever stale.
        with open(self._path, encoding="utf-8") as file:
            return [fault for fault in json.load(file) if fault["at"] == self._place]
