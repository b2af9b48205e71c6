"""Makes many nodes of the one that Ironic has: with its report, and a network card each.

What a rack of machines leaves behind that has reported in, without the minutes that takes.
"""

import argparse
import json
import sqlite3
import uuid


def copies(connection, table, where, changes):
    """Inserts the row that `where` finds, with other values; returns its id."""
    connection.row_factory = sqlite3.Row
    row = dict(connection.execute(f"SELECT * FROM {table} WHERE {where} LIMIT 1").fetchone())
    del row["id"]
    columns = ", ".join(row)
    places = ", ".join("?" for _ in row)
    insert = f"INSERT INTO {table} ({columns}) VALUES ({places})"

    def make(number, **links):
        values = {**row, **changes(number), **links}
        return connection.execute(insert, list(values.values())).lastrowid

    return make


def mac(number):
    octets = number.to_bytes(4, "big")
    return "02:00:" + ":".join(f"{octet:02x}" for octet in octets)


def report(pattern):
    def changes(number):
        found = json.loads(pattern["inventory_data"])
        found["interfaces"][0]["mac_address"] = mac(number)
        found["boot"]["pxe_interface"] = mac(number)
        found["hostname"] = f"machine-{number}"
        return {"inventory_data": json.dumps(found)}

    return changes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--count", type=int, required=True)
    arguments = parser.parse_args()
    with sqlite3.connect(arguments.database, timeout=60) as connection:
        new_id = lambda number: {"uuid": str(uuid.UUID(int=number + 1))}
        node = copies(connection, "nodes", "1", new_id)
        port = copies(connection, "ports", "1", lambda number: {**new_id(number), "address": mac(number)})
        pattern = connection.execute("SELECT * FROM node_inventory LIMIT 1").fetchone()
        inventory = copies(connection, "node_inventory", "1", report(dict(pattern)))
        for number in range(arguments.count):
            made = node(number)
            port(number, node_id=made)
            inventory(number, node_id=made)


if __name__ == "__main__":
    main()
