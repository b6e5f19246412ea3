"""The claim that a seed makes training repeatable."""

from .claims import Claim, ask_new_process, claim
from .verdicts import verdict

#: Seconds for one fresh process.
PATIENCE = 120


class Seeded(Claim):
    """Six steps of Adam on a small convolutional network, each run in a process of its own."""

    param_names = ["second_run"]
    params = [["the same threads", "other threads"]]

    @claim(
        "C30",
        "claim_seeded_losses_are_equal",
        "two runs with one seed give bitwise equal losses; with another number of threads they still do",
        timeout=2.0 * PATIENCE + 60.0,
    )
    def track_losses(self, second_run):
        first = ask_new_process(TRAIN.format(threads=2), PATIENCE)
        second = ask_new_process(TRAIN.format(threads=1 if second_run == "other threads" else 2), PATIENCE)
        pairs = list(zip(first["losses"], second["losses"]))
        apart = next((step for step, (one, other) in enumerate(pairs) if one != other), None)
        threads = f"{first['threads']} and {second['threads']} threads"
        if apart is None:
            note = f"with {threads}, all of {len(pairs)} losses are bitwise equal, the last is {pairs[-1][0]!r}"
        else:
            one, other = pairs[apart]
            note = f"with {threads}, the losses differ from step {apart + 1} on: {one!r} and {other!r}"
        return verdict(apart is None and len(pairs) == 6, note)


TRAIN = """
import json, torch
torch.set_num_threads({threads})
torch.manual_seed(20211121)
layers = [torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3, padding=1)]
model = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 32 * 32, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images, labels = torch.randn(16, 3, 32, 32), torch.randint(10, (16,))
losses = []
for _ in range(6):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(json.dumps({{"losses": losses, "threads": torch.get_num_threads()}}))
"""
