"""Replays of fits: what `pellucid.watching` recorded as one page that plays it, without a network."""

from pellucid.replays.replay_fit import Replay, replay

__all__ = ["Replay", "replay"]
