"""A server: people answer the questions of a campaign in the browser, and no answer is lost."""
