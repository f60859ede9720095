"""Who may do what: tokens, their roles, and the checks on requests that come with a cookie.

A token is 256 random bits, shown once; the store has its SHA-256. It is for one campaign, or for all of them
(the first manager's). A link carries a token to a browser, which keeps it in a cookie; programs send it as a
bearer. There are no passwords and no accounts that are there before somebody makes them.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from querist.asking.store.events import Token
from querist.asking.store.sql import EventStore
from querist.serve.options import Role
from querist.serve.writing import RefusedError

ROLES: dict[Role, str] = {"reader": "looks", "labeller": "answers", "manager": "all"}
"""From the one who may least, in a word; each may do what those before it may."""
MOST_DAYS = 3650
"""Days that a token lasts at most, unless it lasts for ever."""
COOKIE, CSRF_COOKIE, CSRF_HEADER = "querist", "querist_csrf", "x-querist-csrf"
ONCE = "once-"
"""How the id of a token begins whose link works one time."""
DAY = 86_400.0
LOOKED_UP = 5.0
"""Seconds for which a token that was looked up is not looked up again: a revoked one may last so long."""


@dataclass(frozen=True)
class Visitor:
    """Who asks: a person with a role, in one campaign or (None) in all."""

    person: str
    role: str
    campaign: str | None
    token: str

    def may(self, role: str, campaign: str | None) -> bool:
        """Whether they may do what takes this role there."""
        there = self.campaign is None or self.campaign == campaign
        rank = list[str](ROLES).index
        return there and rank(self.role) >= rank(role)


def hashed(secret: str) -> str:
    """What the store has of a token."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_of(secret: str) -> str:
    """What a page sends beside the cookie, which another site cannot read."""
    return hmac.new(secret.encode(), b"querist csrf", hashlib.sha256).hexdigest()


class Gate:
    """Tells who a request comes from."""

    def __init__(self, store: EventStore, clock: Callable[[], float] = time.time) -> None:
        self.store, self.clock = store, clock
        self._taking = threading.Lock()
        self._known: dict[str, tuple[float, Token]] = {}

    def invite(
        self,
        campaign: str | None,
        role: str,
        name: str | None = None,
        days: float | None = None,
        *,
        once: bool = False,
    ) -> tuple[Token, str]:
        """A new token, and its secret, which is told this once. A name is kept outside the log.

        `once`: its link works one time, for whoever opens it first.
        """
        if days is not None and not 0 < days <= MOST_DAYS:
            raise RefusedError(f"days {days}; a token lasts more than 0 and at most {MOST_DAYS:,} days", 422)
        secret, now = secrets.token_urlsafe(32), self.clock()
        token = Token(
            id=f"{ONCE if once else ''}{secrets.token_hex(6)}",
            hash=hashed(secret),
            campaign=campaign,
            person=f"p{secrets.token_hex(4)}",
            role=role,
            created=now,
            expires=None if days is None else now + days * DAY,
        )
        if name and campaign is not None:  # first: a name that is refused leaves no token
            self.store.name_person(campaign, token.person, name)
        self.store.keep_token(token)
        return token, secret

    def visitor(self, headers: Mapping[str, str], cookies: Mapping[str, str], method: str) -> Visitor:
        """Whoever sent a request, or a refusal."""
        secret, by_cookie = _secret(headers, cookies)
        if not secret:
            raise RefusedError("nobody is signed in; open the link you were given, or send a token", 401)
        found = self.entered(secret)
        if found.token.startswith(ONCE):
            raise RefusedError(
                "this link works one time, in a browser; make a token with querist campaign token", 401
            )
        if by_cookie and method not in ("GET", "HEAD", "OPTIONS"):
            _check_origin(headers, secret)
        return found

    def remembers(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> bool:
        """Whether `visitor` needs not look into the store."""
        own = hashed(_secret(headers, cookies)[0])
        when, _ = self._known.get(own, (float("-inf"), None))
        return 0 <= self.clock() - when < LOOKED_UP

    def entered(self, secret: str) -> Visitor:
        """Whoever has this secret."""
        own, now = hashed(secret), self.clock()
        when, token = self._known.get(own, (float("-inf"), None))
        if token is None or not 0 <= now - when < LOOKED_UP:
            token = self.store.token_by_hash(own)
            if token is None:
                raise RefusedError("this link or token is unknown; ask the manager for a new one", 401)
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[own] = (now, token)
        if token.revoked is not None or (token.expires is not None and token.expires <= now):
            raise RefusedError("this link or token has ended; ask the manager for a new one", 401)
        return Visitor(token.person, token.role, token.campaign, token.id)

    def taken(self, secret: str) -> tuple[Visitor, str]:
        """Whoever opens a link, and the secret that their browser keeps: another one, where the link works
        one time."""
        found = self.entered(secret)
        if not found.token.startswith(ONCE):
            return found, secret
        with self._taking:
            # It ends once, for whoever ends it: another server may be asked at the same moment.
            now = self.clock()
            self.store.revoke_token(found.token, now)
            self._known.clear()
            own = self.store.token_by_hash(hashed(secret))
            if own is None or own.revoked != now:
                raise RefusedError("this link works once, and was used; ask for a new one", 401)
        token, fresh = self.invite(found.campaign, found.role)
        return Visitor(token.person, token.role, token.campaign, token.id), fresh

    def revoke(self, campaign: str | None, id: str) -> None:
        """End a token of a campaign."""
        known = {token.id for token in self.store.tokens(campaign)}
        if id not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise RefusedError(f"there is no token {id!r} here; there are {listed}", 404)
        self.store.revoke_token(id, self.clock())
        self._known.clear()


def _secret(headers: Mapping[str, str], cookies: Mapping[str, str]) -> tuple[str, bool]:
    """What a request says of who sends it, and whether a browser says so by itself."""
    kind, _, secret = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and secret.strip():
        return secret.strip(), False
    return cookies.get(COOKIE, ""), True


def _check_origin(headers: Mapping[str, str], secret: str) -> None:
    """Refuse what another site sends in a visitor's name."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise RefusedError("this request comes from another site, and is refused", 403)
    if not hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), csrf_of(secret).encode()):
        raise RefusedError(
            f"the header {CSRF_HEADER} is missing or wrong; it is the value of the cookie {CSRF_COOKIE}", 403
        )
