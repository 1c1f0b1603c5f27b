// SPDX-License-Identifier: BSL-1.0
// compio: one task for each read in flight.
use std::rc::Rc;

use compare::{Competitor, Round, BLOCK, DEPTH};
use compio::{buf::BufResult, fs::File, io::AsyncReadAt, runtime::Runtime};

async fn read_in_turn(file: Rc<File>, round: Rc<Round>) {
    let mut buffer = Vec::with_capacity(BLOCK);
    while round.has_next() {
        let offset = round.next_read();
        let answer;
        BufResult(answer, buffer) = file.read_at(buffer, offset).await;
        round.finished_read(offset, answer, &buffer);
    }
}

fn main() {
    let competitor = Competitor::from_arguments();
    let runtime = Runtime::new().unwrap();
    let file = Rc::new(runtime.block_on(File::open(competitor.path())).unwrap());
    competitor.in_parallel(|round| {
        runtime.block_on(async {
            let readers: Vec<_> = (0..DEPTH)
                .map(|_| runtime.spawn(read_in_turn(file.clone(), round.clone())))
                .collect();
            for each in readers {
                each.await.unwrap();
            }
        })
    })
}
