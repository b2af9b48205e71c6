"""The `ironic` command (API and conductor in one), kept in the process group it was started in.

Its service manager makes itself a session of its own, out of reach of whoever started it; when that
is refused, it carries on where it is. Started from here, Ironic also finds the plugin beside it.
"""

import os
import sys


def refuse():
    """Stands in for os.setsid."""
    raise PermissionError("Ironic stays in the process group of its test")


if __name__ == "__main__":
    os.setsid = refuse
    from ironic.command import singleprocess

    sys.exit(singleprocess.main())
