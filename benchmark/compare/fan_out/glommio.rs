// SPDX-License-Identifier: BSL-1.0
// glommio: one task for each read in flight; its file allocates the memory that it reads into.
use std::rc::Rc;

use compare::{Competitor, Round, BLOCK, DEPTH};
use glommio::{io::BufferedFile, LocalExecutorBuilder};

async fn read_in_turn(file: Rc<BufferedFile>, round: Rc<Round>) {
    while round.has_next() {
        let offset = round.next_read();
        let found = file.read_at(offset, BLOCK).await.unwrap();
        round.finished_read(offset, Ok(found.len()), &found);
    }
}

fn main() {
    let competitor = Competitor::from_arguments();
    let executor = LocalExecutorBuilder::default().make().unwrap();
    let file = Rc::new(executor.run(BufferedFile::open(competitor.path())).unwrap());
    competitor.in_parallel(|round| {
        executor.run(async {
            let readers: Vec<_> = (0..DEPTH)
                .map(|_| glommio::spawn_local(read_in_turn(file.clone(), round.clone())))
                .collect();
            for each in readers {
                each.await;
            }
        })
    })
}
