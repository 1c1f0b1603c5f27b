// SPDX-License-Identifier: BSL-1.0
// monoio: direct reads in turn.
use std::rc::Rc;

use compare::{direct_buffer, Competitor, Round};
use monoio::{fs::File, IoUringDriver, RuntimeBuilder};

async fn read_in_turn(file: Rc<File>, round: Rc<Round>) {
    let mut buffer = direct_buffer();
    while round.has_next() {
        let offset = round.next_read();
        let answer;
        (answer, buffer) = file.read_at(buffer, offset).await;
        round.finished_read(offset, answer, &buffer);
    }
}

fn main() {
    let competitor = Competitor::from_arguments();
    let mut runtime = RuntimeBuilder::<IoUringDriver>::new().build().unwrap();
    let file = Rc::new(runtime.block_on(async { File::from_std(competitor.open_direct()).unwrap() }));
    competitor.one_at_a_time(|round| runtime.block_on(read_in_turn(file.clone(), round)))
}
