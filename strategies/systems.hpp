#pragma once

#include "strategies/job.hpp"

/// What the catalogue lists: defaults of each system's own file.
namespace spillway::strategies {

description::Strategy resident_defaults();
description::Strategy zero_offload_defaults();
description::Strategy zero_infinity_defaults();
description::Strategy memascend_defaults();
description::Strategy mlp_offload_defaults();
description::Strategy lohan_defaults();
description::Strategy ssdtrain_defaults();
description::Strategy teraio_defaults();
description::Strategy g10_defaults();
description::Strategy flashneuron_defaults();
description::Strategy capuchin_defaults();
description::Strategy smart_infinity_defaults();
description::Strategy checkmate_defaults();
description::Strategy colossal_gemini_defaults();
description::Strategy angel_ptm_defaults();

}  // namespace spillway::strategies
