"""The formulas of reliability against runs in which nodes fail: drawn with numpy, and in SimGrid itself."""
