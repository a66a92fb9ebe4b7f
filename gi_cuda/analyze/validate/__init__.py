"""Does a winner hold on held-out cases, under sanitizers, and on other machines?"""
