"""Makes many nodes of the one that Ironic has: with its report, and a network card each.

What a rack of machines leaves behind that has reported in, without the minutes that takes. Or, with
--copies, what it leaves behind when an operator has registered its machines: the one node with all that
belongs to it, but for the words that tell one machine from another.
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


def belongings(connection):
    """The tables whose rows belong to a node."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        columns = [column[1] for column in connection.execute(f"PRAGMA table_info({table})")]
        if "node_id" in columns:
            yield table


def insert(connection, table, row, words):
    """Inserts a row with other words in the place of some; returns its id."""
    row = {column: value for column, value in row.items() if column != "id"}
    for column, value in row.items():
        if isinstance(value, str):
            for old, new in words:
                value = value.replace(old, new)
            row[column] = value
    # In quotes: one of them is called `unique`.
    columns = ", ".join(f'"{column}"' for column in row)
    places = ", ".join("?" for _ in row)
    statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"
    return connection.execute(statement, list(row.values())).lastrowid


def copy_node(connection, copies):
    """Makes a copy of the one node for each list of words."""
    owned = list(belongings(connection))
    connection.row_factory = sqlite3.Row
    [pattern] = connection.execute("SELECT * FROM nodes").fetchall()
    find = "SELECT * FROM {} WHERE node_id = ?"
    rows = [
        (table, dict(row))
        for table in owned
        for row in connection.execute(find.format(table), (pattern["id"],)).fetchall()
    ]
    for words in copies:
        made = insert(connection, "nodes", dict(pattern), words)
        for table, row in rows:
            row["node_id"] = made
            if "uuid" in row:
                row["uuid"] = str(uuid.uuid4())
            insert(connection, table, row, words)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--count", type=int)
    what.add_argument("--copies", help="a file: for each copy a list of old and new words")
    arguments = parser.parse_args()
    with sqlite3.connect(arguments.database, timeout=60) as connection:
        if arguments.copies:
            with open(arguments.copies, encoding="utf-8") as file:
                copy_node(connection, json.load(file))
            return
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
