"""Marks the wheel as one for the platform of the program in it."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface):
    """Sets the wheel's tag: any Python, one platform (TRUEPUT_PLATFORM)."""

    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['TRUEPUT_PLATFORM']}"
