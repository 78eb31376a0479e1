"""The transcripts that the sample agents play, by project."""

from collections.abc import Mapping

from suspensions.demo.script import Case
from suspensions.demo.transcripts import deployments, privacy, refunds, travel_desk

PROJECTS: Mapping[str, tuple[Case, ...]] = {
    "travel": travel_desk.CASES,
    "refunds": refunds.CASES,
    "platform": deployments.CASES,
    "privacy": privacy.CASES,
}
