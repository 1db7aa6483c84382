//! The tiny operators of the benchmark in Rust, by tch. It obeys one command a line, as python/peer.py does.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{BufRead, Write};
use std::time::Instant;
use tch::{Device, Kind, Tensor};

#[derive(Deserialize)]
struct Request {
    cmd: String,
    #[serde(default)]
    case: String,
    #[serde(default)]
    threads: i32,
    #[serde(default)]
    n: usize,
}

#[derive(Default, Serialize)]
struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The tensors of the cases; tiny.go and python/tiny.py have the same.
struct Operands {
    x: Tensor,
    y: Tensor,
    z: Tensor,
    v: Tensor,
    a: Tensor,
    b: Tensor,
    w: Tensor,
}

impl Operands {
    fn new() -> Self {
        let a = Tensor::arange(16, (Kind::Float, Device::Cpu)).reshape([4, 4]);
        Operands {
            x: Tensor::from_slice(&[1.5f32]),
            y: Tensor::from_slice(&[2.25f32]),
            z: Tensor::from_slice(&[0.5f32]),
            v: Tensor::arange(4, (Kind::Float, Device::Cpu)),
            b: &a / 8,
            a,
            w: Tensor::from_slice(&[3.5f32]).set_requires_grad(true),
        }
    }

    /// Makes the operator a loop of its own, as the other sides have it.
    fn run(&mut self, case: &str, n: usize) -> Option<Tensor> {
        let Operands { x, y, z, v, a, b, w } = self;
        match case {
            "add" => times(n, || x.g_add(y)),
            "add_" => times(n, || z.g_add_(y)),
            "view" => times(n, || v.view([2, 2])),
            "mm 4x4" => times(n, || a.mm(b)),
            "empty" => times(n, || Tensor::empty([1], (Kind::Float, Device::Cpu))),
            "add scalar" => times(n, || x.g_add_scalar(2.5)),
            "relu" => times(n, || x.relu()),
            "sum" => times(n, || a.sum(None::<Kind>)),
            "add, recorded" => times(n, || w.g_add(y)),
            _ => None,
        }
    }
}

/// Calls op n times; the last result is returned, the others are dropped at once.
fn times(n: usize, mut op: impl FnMut() -> Tensor) -> Option<Tensor> {
    let mut last = None;
    for _ in 0..n {
        last = Some(op());
    }
    last
}

/// What the bytes of a tensor are known by: see digest in cases.go.
fn digest(t: &Tensor) -> String {
    let mut data = vec![0f32; t.numel()];
    t.contiguous().view([-1]).copy_data(&mut data, t.numel());
    let mut h = Sha256::new();
    h.update(format!("{:?}", t.size()));
    data.iter().for_each(|v| h.update(v.to_le_bytes()));
    h.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The time that the calling thread has been at work, in nanoseconds.
fn thread_time() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t is a timespec of this function's own.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn answer(operands: &mut Operands, q: Request) -> Reply {
    let unknown = || Reply { error: Some(format!("no {} of {:?} here", q.cmd, q.case)), ..Reply::default() };
    match q.cmd.as_str() {
        "hello" => Reply { version: Some("2.11.0".into()), ..Reply::default() },
        "load" => Reply::default(),
        "check" => match operands.run(&q.case, 1) {
            Some(t) if q.case == "empty" => Reply { result: Some(digest(&t.zeros_like())), ..Reply::default() },
            Some(t) => Reply { result: Some(digest(&t)), ..Reply::default() },
            None => unknown(),
        },
        "run" => {
            tch::set_num_threads(q.threads);
            let (began, before) = (Instant::now(), thread_time());
            if operands.run(&q.case, q.n).is_none() {
                return unknown();
            }
            let (cpu, wall) = (thread_time() - before, began.elapsed().as_nanos() as u64);
            Reply { wall: Some(wall), cpu: Some(cpu), ..Reply::default() }
        }
        _ => unknown(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut operands = Operands::new();
    for line in std::io::stdin().lock().lines() {
        let reply = answer(&mut operands, serde_json::from_str(&line?)?);
        println!("{}", serde_json::to_string(&reply)?);
        std::io::stdout().flush()?;
    }
    Ok(())
}
