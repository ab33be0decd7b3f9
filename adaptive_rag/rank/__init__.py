"""Fusing, scoring, diversifying and windowing: functions over scored chunks, between search and answer."""
