"""From result to screen: formatting, tables, sentences and charts; computes no statistics."""
