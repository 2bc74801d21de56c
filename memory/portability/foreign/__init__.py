"""Exports of other services as files that an import takes: a function a service, which reads messages and notes."""
