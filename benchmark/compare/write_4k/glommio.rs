// SPDX-License-Identifier: BSL-1.0
// glommio: writes in turn; its file takes the memory away, so each write allocates.
use std::rc::Rc;

use compare::{Competitor, Round, BLOCK};
use glommio::{
    io::{BufferedFile, OpenOptions},
    LocalExecutorBuilder,
};

async fn write_in_turn(file: Rc<BufferedFile>, round: Rc<Round>) {
    let mut buffer = vec![0; BLOCK];
    while round.has_next() {
        let offset = round.next_write(&mut buffer);
        let written = file.write_at(buffer.clone(), offset).await.unwrap();
        round.finished_write(offset, Ok(written), &buffer);
    }
}

fn main() {
    let competitor = Competitor::from_arguments();
    let executor = LocalExecutorBuilder::default().make().unwrap();
    let file = Rc::new(
        executor
            .run(
                OpenOptions::new()
                    .write(true)
                    .buffered_open(competitor.path()),
            )
            .unwrap(),
    );
    competitor.one_at_a_time(|round| executor.run(write_in_turn(file.clone(), round)))
}
