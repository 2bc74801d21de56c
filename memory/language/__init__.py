"""Text in Chinese and English: words, sentences, keywords, questions, and the sentences Jiyi says itself."""
