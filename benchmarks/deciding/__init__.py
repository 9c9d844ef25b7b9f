"""The bench of the measure of what decides: mechanisms in code, whose deciding words are known, and explanations of them."""
