// SPDX-License-Identifier: BSL-1.0
//! The same as round.hpp and competitor.hpp, for competitors in Rust: same offsets, same checks, same clock, same protocol.

use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::exit;
use std::rc::Rc;
use std::time::Instant;

/// Bytes; every operation is one block.
pub const BLOCK: usize = 4096;
/// Reads in flight in the workload fan_out.
pub const DEPTH: usize = 32;

/// Ends the program: a competitor that goes on after an error measures errors.
pub fn fail(what: &str, why: &str) -> ! {
    eprintln!("{what}: {why}");
    exit(1)
}

const GOLDEN: u64 = 0x9e3779b97f4a7c15;

fn word_at(offset: u64) -> u64 {
    (offset + 1).wrapping_mul(GOLDEN)
}

fn first_word(memory: &[u8]) -> u64 {
    u64::from_ne_bytes(memory[..8].try_into().unwrap())
}

/// Memory for a block, empty, at an address that direct I/O takes. It is never given back: a Vec would do so with
/// another alignment than it was allocated with.
pub fn direct_buffer() -> Vec<u8> {
    #[repr(align(4096))]
    struct Page([u8; BLOCK]);
    let page = Box::leak(Box::new(Page([0; BLOCK])));
    unsafe { Vec::from_raw_parts(page.0.as_mut_ptr(), 0, BLOCK) }
}

pub struct Round {
    file: File,
    blocks: u64,
    random: Cell<u64>,
    operations: u64,
    is_each_timed: bool,
    is_thorough: bool,
    started: Cell<u64>,
    finished: Cell<u64>,
    began: Cell<Instant>,
    latencies: RefCell<Vec<u64>>,
}

impl Round {
    pub fn has_next(&self) -> bool {
        self.started.get() < self.operations
    }

    pub fn next_read(&self) -> u64 {
        let offset = self.next_offset();
        if self.is_each_timed {
            self.began.set(Instant::now());
        }
        offset
    }

    pub fn finished_read(&self, offset: u64, answer: io::Result<usize>, memory: &[u8]) {
        self.take_latency();
        Self::require_whole(answer);
        let word = word_at(offset);
        let is_right = first_word(memory) == word
            && (!self.is_thorough || memory.chunks_exact(8).all(|each| first_word(each) == word));
        if !is_right {
            fail("read", "not what the file holds there");
        }
    }

    pub fn next_write(&self, memory: &mut [u8]) -> u64 {
        let offset = self.next_offset();
        let word = (word_at(offset) ^ self.random.get()).to_ne_bytes();
        if self.is_thorough {
            memory
                .chunks_exact_mut(8)
                .for_each(|each| each.copy_from_slice(&word));
        }
        memory[..8].copy_from_slice(&word);
        if self.is_each_timed {
            self.began.set(Instant::now());
        }
        offset
    }

    pub fn finished_write(&self, offset: u64, answer: io::Result<usize>, memory: &[u8]) {
        self.take_latency();
        Self::require_whole(answer);
        if !self.is_thorough && self.finished.get() != self.operations {
            return;
        }
        let mut found = [0; BLOCK];
        Self::require_whole(self.file.read_at(&mut found, offset));
        if found != memory {
            fail("write", "the file does not hold what was written");
        }
    }

    fn next_offset(&self) -> u64 {
        self.started.set(self.started.get() + 1);
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        random % self.blocks * BLOCK as u64
    }

    fn take_latency(&self) {
        self.finished.set(self.finished.get() + 1);
        if self.is_each_timed {
            self.latencies
                .borrow_mut()
                .push(self.began.get().elapsed().as_nanos() as u64);
        }
    }

    fn require_whole(answer: io::Result<usize>) {
        match answer {
            Ok(BLOCK) => {}
            Ok(_) => fail("operation", "less than a block was transferred"),
            Err(error) => fail("operation", &error.to_string()),
        }
    }

    fn percentile(&self, of: f64) -> u64 {
        let mut latencies = self.latencies.borrow_mut();
        let rank = (of * (latencies.len() - 1) as f64) as usize;
        *latencies.select_nth_unstable(rank).1
    }
}

pub struct Competitor {
    path: String,
    rounds: u64,
}

impl Competitor {
    pub fn from_arguments() -> Self {
        let path = std::env::args()
            .nth(1)
            .unwrap_or_else(|| fail("usage", "COMPETITOR FILE"));
        Competitor { path, rounds: 0 }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// As O_DIRECT opens it.
    pub fn open_direct(&self) -> File {
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(&self.path);
        opened.unwrap_or_else(|error| fail(&self.path, &error.to_string()))
    }

    /// `run` does the operations of a round, one at a time.
    pub fn one_at_a_time(self, run: impl FnMut(Rc<Round>)) -> ! {
        self.serve(true, run)
    }

    /// The same with several in flight.
    pub fn in_parallel(self, run: impl FnMut(Rc<Round>)) -> ! {
        self.serve(false, run)
    }

    fn serve(mut self, is_each_timed: bool, mut run: impl FnMut(Rc<Round>)) -> ! {
        self.carry_out(256, is_each_timed, true, &mut run);
        println!("ready");
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let operations = line
                .parse()
                .unwrap_or_else(|_| fail("a round", "is a number of operations"));
            self.carry_out(operations / 10 + 1, is_each_timed, false, &mut run);
            let began = Instant::now();
            let cpu_began = processor_ns();
            let done = self.carry_out(operations, is_each_timed, false, &mut run);
            let cpu = processor_ns() - cpu_began;
            let ns = began.elapsed().as_nanos();
            if is_each_timed {
                let (p50, p95, p999) = (
                    done.percentile(0.5),
                    done.percentile(0.95),
                    done.percentile(0.999),
                );
                println!("{p50} {p95} {p999} {ns} {cpu}");
            } else {
                println!("0 0 0 {ns} {cpu}");
            }
            io::stdout().flush().unwrap();
        }
        exit(0) // without giving back the direct buffers
    }

    fn carry_out(
        &mut self,
        operations: u64,
        is_each_timed: bool,
        is_thorough: bool,
        run: &mut impl FnMut(Rc<Round>),
    ) -> Rc<Round> {
        let file =
            File::open(&self.path).unwrap_or_else(|error| fail(&self.path, &error.to_string()));
        let blocks = file.metadata().unwrap().len() / BLOCK as u64;
        self.rounds += 1;
        let round = Rc::new(Round {
            file,
            blocks,
            random: Cell::new(self.rounds.wrapping_mul(GOLDEN)),
            operations,
            is_each_timed,
            is_thorough,
            started: Cell::new(0),
            finished: Cell::new(0),
            began: Cell::new(Instant::now()),
            latencies: RefCell::new(Vec::with_capacity(operations as usize)),
        });
        run(round.clone());
        if round.finished.get() != operations {
            fail("round", "the loop ended too early");
        }
        round
    }
}

fn processor_ns() -> i64 {
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
    ns(used.ru_utime) + ns(used.ru_stime)
}
