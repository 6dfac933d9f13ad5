"""Whose instances move, where several ways are as short."""
