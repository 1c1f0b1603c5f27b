// SPDX-License-Identifier: BSL-1.0
// compio: writes in turn.
use std::rc::Rc;

use compare::{Competitor, Round, BLOCK};
use compio::{
    buf::BufResult,
    fs::{File, OpenOptions},
    io::AsyncWriteAt,
    runtime::Runtime,
};

async fn write_in_turn(file: Rc<File>, round: Rc<Round>) {
    let mut buffer = vec![0; BLOCK];
    while round.has_next() {
        let offset = round.next_write(&mut buffer);
        let answer;
        BufResult(answer, buffer) = (&*file).write_at(buffer, offset).await;
        round.finished_write(offset, answer, &buffer);
    }
}

fn main() {
    let competitor = Competitor::from_arguments();
    let runtime = Runtime::new().unwrap();
    let file = Rc::new(
        runtime
            .block_on(OpenOptions::new().write(true).open(competitor.path()))
            .unwrap(),
    );
    competitor.one_at_a_time(|round| runtime.block_on(write_in_turn(file.clone(), round)))
}
