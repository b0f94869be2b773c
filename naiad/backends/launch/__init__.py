"""Native launchers, as far as all backends have the same: what they check of a call, and how they are made."""
