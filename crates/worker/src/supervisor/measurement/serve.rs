//! Serves the peer's end of a case for a worker on another machine.

use oscost_model::protocol::Event;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::case_work::context;
use super::privileges::drop_privileges;
use crate::bench::Params;
use crate::benchmarks;
use crate::kernel::cpu::affinity;
use crate::kernel::net::token_listener::{Token, TokenListener};
use crate::supervisor::protocol::failure::failure;
use crate::supervisor::protocol::wire::Wire;

/// Serves the peer's end of a case for a worker on another machine until that worker ends.
pub(crate) fn serve(id: u64, spec: &WorkerSpec, wire: &mut Wire) -> Result<Event, Event> {
    let Subject::Case(case) = &spec.subject else {
        return Err(failure(id, "a program cannot be served"));
    };
    let Task::Serve { bind, token } = &spec.task else {
        return Err(failure(id, "the task of the order is not `serve`"));
    };
    let (Ok(bind), Some(token)) = (bind.parse(), Token::parse(token)) else {
        return Err(failure(id, "cannot parse the address or the token"));
    };
    drop_privileges(spec);
    let bench = benchmarks::find(&case.benchmark).filter(|bench| bench.is_complete(&case.point));
    let Some((bench, serve)) = bench.and_then(|bench| Some((bench, bench.serve?))) else {
        return Err(failure(id, format!("`{case}` has no peer that could run on another machine")));
    };
    let site = context(spec, affinity::allowed_cpus(0).unwrap_or_default());
    if let Some(cpu) = spec.cpu {
        affinity::pin(cpu).map_err(|error| failure(id, format!("pin to CPU {cpu}: {error}")))?;
    }
    let mut listener = TokenListener::bind(bind, token)
        .map_err(|error| failure(id, format!("listen at {bind}: {error}")))?;
    let addr = Some(listener.endpoint().addr.to_string());
    wire.send(&Event::Ready { id, pid: std::process::id(), addr })
        .map_err(|error| failure(id, format!("send `ready`: {error}")))?;
    let point = bench.definition().with_implied(&case.point);
    serve(Params::new(&point, site), &mut listener)
        .map_err(|error| failure(id, format!("serve `{case}`: {error}")))?;
    Ok(Event::Served { id, unauthorised_connections: listener.close() })
}
