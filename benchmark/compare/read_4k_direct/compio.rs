// SPDX-License-Identifier: BSL-1.0
// compio: direct reads in turn.
use std::rc::Rc;

use compare::{direct_buffer, Competitor, Round};
use compio::{
    buf::BufResult,
    fs::{File, OpenOptions},
    io::AsyncReadAt,
    runtime::Runtime,
};

async fn read_in_turn(file: Rc<File>, round: Rc<Round>) {
    let mut buffer = direct_buffer();
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
    let file = Rc::new(
        runtime
            .block_on(
                OpenOptions::new()
                    .read(true)
                    .custom_flags(libc::O_DIRECT)
                    .open(competitor.path()),
            )
            .unwrap(),
    );
    competitor.one_at_a_time(|round| runtime.block_on(read_in_turn(file.clone(), round)))
}
