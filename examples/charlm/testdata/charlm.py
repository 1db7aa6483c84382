"""The same transformer in Python: weights, losses and what it writes after some steps on a text of numbers."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_down = nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(n, length, width))
        return x + self.c_down(F.gelu(self.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, alphabet, context, width, heads, layers):
        super().__init__()
        self.wte = nn.Embedding(alphabet, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, alphabet, bias=False)

    def forward(self, letters):
        x = self.wte(letters) + self.wpe(torch.arange(letters.size(1)))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def passages(text, n, length):
    at = torch.randint(0, len(text) - length, (n, 1)) + torch.arange(length)
    return text[at], text[at + 1]


@torch.inference_mode()
def write(model, x, n, context, temperature):
    out = []
    for _ in range(n):
        x = x[:, -context:]
        following = torch.multinomial((model(x)[:, -1] / temperature).softmax(1), 1)
        x = torch.cat([x, following], 1)
        out.append(following.item())
    return out


def main(inputs, alphabet, steps, size, context):
    text, context = inputs["text"], int(context)
    torch.manual_seed(0)
    model = GPT(int(alphabet), context, 32, 4, 2)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
    losses = []
    for _ in range(int(steps)):
        x, y = passages(text, int(size), context)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    written = write(model, text[:1].view(1, 1), 40, context, 0.8)
    return {"losses": torch.stack(losses), "written": torch.tensor(written), **model.state_dict()}
