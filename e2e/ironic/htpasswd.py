"""Prints the line of a password file, as Ironic's HTTP basic authentication reads it.

usage: htpasswd.py USER PASSWORD
"""

import sys

import bcrypt

if __name__ == "__main__":
    user, password = sys.argv[1:]
    # The fewest rounds there are: this guards nothing but a test on the loopback address.
    digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds=4))
    print(f"{user}:{digest.decode()}")
