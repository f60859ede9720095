"""Which node to ask about next; a campaign of questions, its events, and the journal that keeps them."""

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "Asking": ".asking",
        "FileCampaign": ".files",
        "Journal": ".journal",
        "Question": ".campaign",
        "PoolRule": ".rules",
        "RULES": ".rules",
        "ask": ".asking",
        "command_oracle": ".oracles",
        "from_files": ".files",
    },
)
