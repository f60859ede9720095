"""The log of a campaign: events that are appended and never changed, and the stores that keep them.

`sql.py` has what a store in another database needs: see `EventStore`.
"""
