"""The tables of a store; both dialects read nearly the same SQL."""

from querist.asking.store.events import StoreError

VERSION = 2
"""Version of the tables."""

_TABLES = (
    "CREATE TABLE campaigns (id TEXT PRIMARY KEY, name TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)",
    # Bodies are text, not JSON of the database's own kind, which would not come back byte for byte.
    "CREATE TABLE events (campaign TEXT NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL, "
    "kind TEXT NOT NULL, body TEXT NOT NULL, sum {bytes} NOT NULL, "
    "PRIMARY KEY (campaign, seq)){packed}",
    "CREATE TABLE replies (campaign TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, "
    "seq BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (campaign, key)){packed}",
    "CREATE TABLE sources (campaign TEXT NOT NULL, name TEXT NOT NULL, content {bytes} NOT NULL, "
    "PRIMARY KEY (campaign, name))",
    "CREATE TABLE people (campaign TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, "
    "PRIMARY KEY (campaign, person))",
    "CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, campaign TEXT, "
    "person TEXT NOT NULL, role TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, "
    "expires DOUBLE PRECISION, revoked DOUBLE PRECISION)",
)

_NEXT = "coalesce((SELECT max(seq) FROM events WHERE campaign = NEW.campaign), 0) + 1"

SQLITE = (
    *(table.format(bytes="BLOB", packed=" WITHOUT ROWID") for table in _TABLES),
    "CREATE TRIGGER kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never removed'); END",
    "CREATE TRIGGER fixed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END",
    # INSERT OR REPLACE passes by the two others.
    f"CREATE TRIGGER following BEFORE INSERT ON events WHEN NEW.seq <> {_NEXT} "
    "BEGIN SELECT RAISE(ABORT, 'events follow one another'); END",
)

POSTGRES = (
    *(table.format(bytes="BYTEA", packed="") for table in _TABLES),
    "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION 'events are never changed or removed' "
    "USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF NEW.seq <> {_NEXT} THEN RAISE EXCEPTION 'events follow one another' "
    "USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END $$",
    "CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION keep()",
    "CREATE TRIGGER whole BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION keep()",
    "CREATE TRIGGER following BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION follow()",
)


def check_version(place: str, version: int) -> None:
    """Refuse a store whose tables have another version."""
    if version != VERSION:
        raise StoreError(
            f"{place}: its tables have version {version}, and this Querist reads version {VERSION}; use the "
            "Querist that wrote it, or give another journal"
        )
